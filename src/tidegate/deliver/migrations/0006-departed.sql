-- Who was removed, so that what was under way to it does not reach somebody who is called the same later.

CREATE TABLE departed (
    name {text} NOT NULL,
    subscription {text} NOT NULL,
    version BIGINT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (name, subscription)
);
CREATE INDEX departed_by_time ON departed (at);
INSERT INTO progress VALUES ('departed', 0, 0);
