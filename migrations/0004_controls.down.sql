DROP TABLE budgets, rate_limits, model_pricing;
