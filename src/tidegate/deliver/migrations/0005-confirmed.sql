-- Addresses of letters are confirmed by whoever reads what is sent there.

-- The one that was; another that a subscriber gives later has to be confirmed again.
ALTER TABLE subscribers ADD COLUMN confirmed {text};

-- Letters that ask for it are few to one mailbox, whoever has them sent: they are counted in the outbox.
CREATE INDEX outbox_by_mailbox ON outbox (key) WHERE channel = 'confirmation';
INSERT INTO progress VALUES ('confirming', 0, 0);
