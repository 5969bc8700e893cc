DROP TABLE answer;
