DROP TABLE routing_rules, routing_policies, budgets, rate_limits, model_pricing;
