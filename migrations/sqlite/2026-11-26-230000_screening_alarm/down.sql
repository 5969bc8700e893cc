DROP TABLE screening_alarm;
