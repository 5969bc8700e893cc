-- What guards an insert into the journal looks for the key among entries of every outcome; without this it read the whole journal each time.
CREATE INDEX journal_by_key ON journal (key);
