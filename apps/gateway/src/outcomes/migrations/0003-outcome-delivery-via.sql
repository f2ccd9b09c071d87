-- By which bus the process that has the turn publishes, `amqp` or `embedded`: where gateways differ, RabbitMQ goes first. Null for a webhook.
ALTER TABLE outcome_delivery ADD COLUMN via text;
