-- When the registry accepted what put the item there: what it had accepted before changes nothing. Of older rows nobody knows.
ALTER TABLE item_container ADD since timestamptz NOT NULL DEFAULT '-infinity';
ALTER TABLE item_container ALTER since DROP DEFAULT;
