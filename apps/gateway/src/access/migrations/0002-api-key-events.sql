-- The table follows the stream `api-keys` of the event log. version is that of the last event taken into the row: the greatest of all says how far the
-- table is. It is null where the making of the key is not in the log yet; whoever starts next appends that.
ALTER TABLE api_key
  ADD COLUMN version        int UNIQUE,
  ADD COLUMN expires_at     timestamptz,
  -- When the expiry was recorded.
  ADD COLUMN expired_at     timestamptz,
  ADD COLUMN first_used_at  timestamptz,
  -- To the minute, and in no event.
  ADD COLUMN last_used_at   timestamptz,
  -- The restoration after which the key was made or confirmed. Where the newest one is another, the key is suspended.
  ADD COLUMN restoration_id uuid;
-- A backup that is being loaded at this moment is what these keys must not be trusted after.
UPDATE api_key SET restoration_id = (SELECT id FROM restoration WHERE state <> 'loading' ORDER BY begun_at DESC LIMIT 1);
