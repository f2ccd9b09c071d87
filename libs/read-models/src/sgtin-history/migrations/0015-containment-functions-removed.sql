-- Stays are worked out by a walk over the changes of the items around (containment.ts); nothing asks these functions any more.
DROP FUNCTION content_of(text, bigint, timestamptz);
DROP FUNCTION containment_of(text, bigint, timestamptz, integer);
DROP FUNCTION containment_end(text, boolean, timestamptz, bigint, bigint, timestamptz);
