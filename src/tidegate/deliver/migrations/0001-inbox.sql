-- The inbox: what subscribers have been told, what of it they have read, and which batches it came in.

CREATE TABLE posts (
    id {text} PRIMARY KEY,
    body {text} NOT NULL,
    cursor BIGINT NOT NULL
);
CREATE INDEX posts_by_cursor ON posts (cursor);

CREATE TABLE notifications (
    cursor {number} PRIMARY KEY,
    subscriber {text} NOT NULL,
    post {text} NOT NULL,
    reasons {text} NOT NULL,
    topic {text} NOT NULL,
    topic_type {text} NOT NULL,
    at BIGINT NOT NULL
);
CREATE UNIQUE INDEX notifications_by_post ON notifications (subscriber, post);
CREATE INDEX notifications_by_cursor ON notifications (subscriber, cursor);

CREATE TABLE history (
    topic {text} NOT NULL,
    post {text} NOT NULL,
    topic_type {text} NOT NULL,
    at BIGINT NOT NULL,
    cursor BIGINT NOT NULL,
    PRIMARY KEY (topic, post)
);
CREATE UNIQUE INDEX history_by_topic ON history (topic, cursor);
CREATE INDEX history_by_cursor ON history (cursor);

CREATE TABLE read_up_to (
    subscriber {text} PRIMARY KEY,
    cursor BIGINT NOT NULL
);

CREATE TABLE read_singly (
    subscriber {text} NOT NULL,
    cursor BIGINT NOT NULL,
    PRIMARY KEY (subscriber, cursor)
);

CREATE TABLE batches (
    run {text} NOT NULL,
    batch BIGINT NOT NULL,
    first BIGINT NOT NULL,
    last BIGINT NOT NULL,
    added BIGINT NOT NULL,
    PRIMARY KEY (run, batch)
);
CREATE INDEX batches_by_time ON batches (added, first);

CREATE TABLE progress (
    name {text} PRIMARY KEY,
    cursor BIGINT NOT NULL,
    at BIGINT NOT NULL
);
INSERT INTO progress VALUES ('written', 0, 0), ('forgotten', 0, 0);
