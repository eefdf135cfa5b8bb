-- The role spillway_app stays: it belongs to the cluster, and other databases may use it.
DROP TABLE audit_events, api_keys, model_mappings, provider_credentials, providers, service_accounts, org_config, organizations;
