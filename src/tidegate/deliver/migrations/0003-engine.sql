-- The engine: who has taken what is to be sent, what it signs with, and how far it has decided.

ALTER TABLE outbox ADD COLUMN taken INTEGER NOT NULL DEFAULT 0;

CREATE TABLE signing_keys (
    name {text} PRIMARY KEY,
    key {text} NOT NULL
);

-- What was in the inbox before there was an engine is no news to anybody.
INSERT INTO progress SELECT 'decided', cursor, at FROM progress WHERE name = 'written';
