-- Who is told, where and by which rules, and what is still to be sent.

CREATE TABLE subscribers (
    name {text} PRIMARY KEY,
    preferences {text} NOT NULL,
    tags {text} NOT NULL,
    made BIGINT NOT NULL
);

CREATE TABLE api_keys (
    hash {text} PRIMARY KEY,
    subscriber {text} NOT NULL,
    is_operator INTEGER NOT NULL,
    made BIGINT NOT NULL
);
CREATE INDEX api_keys_by_subscriber ON api_keys (subscriber);

CREATE TABLE devices (
    subscriber {text} NOT NULL,
    device {text} NOT NULL,
    kind {text} NOT NULL,
    seen BIGINT NOT NULL,
    PRIMARY KEY (subscriber, device)
);
CREATE INDEX devices_by_time ON devices (seen);

CREATE TABLE caps (
    subscriber {text} PRIMARY KEY,
    recent {text} NOT NULL
);

CREATE TABLE digest_queue (
    subscriber {text} NOT NULL,
    cursor BIGINT NOT NULL,
    due BIGINT NOT NULL,
    PRIMARY KEY (subscriber, cursor)
);
CREATE INDEX digest_queue_by_time ON digest_queue (due, subscriber);

CREATE TABLE outbox (
    number {number} {generated} PRIMARY KEY,
    subscriber {text} NOT NULL,
    channel {text} NOT NULL,
    key {text} NOT NULL,
    message {text} NOT NULL,
    attempts INTEGER NOT NULL,
    next_try BIGINT,
    error {text},
    added BIGINT NOT NULL,
    settled BIGINT,
    UNIQUE (subscriber, channel, key)
);
CREATE INDEX outbox_by_time ON outbox (next_try);
CREATE INDEX outbox_by_end ON outbox (settled);

CREATE TABLE rules (
    version BIGINT PRIMARY KEY,
    body {text} NOT NULL,
    made BIGINT NOT NULL
);

-- How many notifications a batch came to cannot be told from its cursors alone: not all of them need be taken.
ALTER TABLE batches ADD COLUMN notifications BIGINT NOT NULL DEFAULT 0;
UPDATE batches SET notifications = last - first + 1;
