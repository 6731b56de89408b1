-- What is in the inbox, and told nobody in real time: its topic was offloaded when it came.
ALTER TABLE notifications ADD COLUMN offloaded INTEGER NOT NULL DEFAULT 0;
