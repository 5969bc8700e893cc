-- Every merchant offers what the deployment does.
ALTER TABLE merchant DROP COLUMN methods;
