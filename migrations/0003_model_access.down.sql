DROP INDEX model_mappings_alias;
DROP TABLE governance_config, model_access_policies, model_route_groups;
