-- The last event of topics of presence, for those who follow them after a site was started again.

CREATE TABLE last_events (
    site {text} NOT NULL,
    topic {text} NOT NULL,
    at BIGINT NOT NULL,
    body {text} NOT NULL,
    PRIMARY KEY (site, topic)
);
CREATE INDEX last_events_by_time ON last_events (at);
