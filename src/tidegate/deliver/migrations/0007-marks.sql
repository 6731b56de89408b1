-- What was marked as read, one after the other, so that all services of a database tell the feeds they have.

CREATE TABLE marks (
    number BIGINT PRIMARY KEY,
    subscriber {text} NOT NULL,
    body {text} NOT NULL
);
CREATE INDEX marks_by_subscriber ON marks (subscriber);
INSERT INTO progress VALUES ('marked', 0, 0);
