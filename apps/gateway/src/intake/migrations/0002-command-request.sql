-- A document that was acknowledged and is still to be run is asked for by its request_id too.
CREATE UNIQUE INDEX command_request ON command (request_id);
