-- The service: subscriptions that are paused, secrets that can be changed, turns, and where it is reached.

-- Where a service has run before, it has made this table itself.
CREATE TABLE IF NOT EXISTS paused (
    id {text} PRIMARY KEY,
    subscriber {text} NOT NULL,
    body {text} NOT NULL
);
CREATE INDEX paused_by_subscriber ON paused (subscriber);

CREATE TABLE webhook_secrets (
    subscriber {text} NOT NULL,
    serial INTEGER NOT NULL,
    secret {text} NOT NULL,
    made BIGINT NOT NULL,
    PRIMARY KEY (subscriber, serial)
);
-- They were derived from this one, of which nothing could be changed, and nobody could ask for them.
DELETE FROM signing_keys WHERE name = 'webhook';

-- When the next process may forget what is too old; and how often a key was revoked, for who watches that.
INSERT INTO progress VALUES ('retention', 0, 0), ('revoked', 0, 0);

CREATE TABLE published (
    name {text} PRIMARY KEY,
    value {text} NOT NULL
);
