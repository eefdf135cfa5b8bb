DROP TABLE model_pricing;
