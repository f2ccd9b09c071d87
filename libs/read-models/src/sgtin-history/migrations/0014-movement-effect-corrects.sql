-- A correction (254, 10501, 10502) points at what it corrects: the operation or the receipt, as the document names it.
ALTER TABLE movement_effect ADD COLUMN corrects text;
