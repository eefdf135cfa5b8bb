-- Who may call which models: groups of routes, the policies that name them, and what holds where no policy speaks.

-- A name in model_aliases is a route's by its spelling: groups may be written before their routes are.
CREATE TABLE model_route_groups (
  org_id                   uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  id                       uuid NOT NULL,
  name                     text NOT NULL,
  description              text,
  model_aliases            text[] NOT NULL, -- in the order they were given, each once
  created_at               timestamptz NOT NULL DEFAULT now(),
  updated_at               timestamptz NOT NULL DEFAULT now(),
  created_by_user_id       uuid,
  created_by_email         text,
  created_by_name          text,
  last_modified_by_user_id uuid,
  last_modified_by_email   text,
  last_modified_by_name    text,
  last_modified_at         timestamptz,
  last_change_note         text,
  revision                 bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (org_id, id)
);
CREATE UNIQUE INDEX model_route_groups_name ON model_route_groups (org_id, lower(name));

CREATE TABLE model_access_policies (
  org_id                   uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  id                       uuid NOT NULL,
  name                     text NOT NULL,
  scope_type               text NOT NULL,
  scope_id                 uuid,
  scope_value              text,
  policy_type              text NOT NULL CHECK (policy_type IN ('allowlist', 'denylist')),
  targets                  jsonb NOT NULL CHECK (jsonb_typeof(targets) = 'array' AND jsonb_array_length(targets) > 0),
  traffic_type             text NOT NULL,
  enabled                  boolean NOT NULL,
  created_at               timestamptz NOT NULL DEFAULT now(),
  updated_at               timestamptz NOT NULL DEFAULT now(),
  created_by_user_id       uuid,
  created_by_email         text,
  created_by_name          text,
  last_modified_by_user_id uuid,
  last_modified_by_email   text,
  last_modified_by_name    text,
  last_modified_at         timestamptz,
  last_change_note         text,
  revision                 bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (org_id, id),
  CHECK (scope_id IS NULL OR scope_value IS NULL)
);

-- One row for an organization that has set something; without one the defaults hold, which are tenant.DefaultGovernance.
CREATE TABLE governance_config (
  org_id                       uuid PRIMARY KEY REFERENCES organizations ON DELETE CASCADE,
  id                           uuid NOT NULL, -- for the trail of changes
  require_pricing_for_mappings boolean NOT NULL,
  default_model_access         text NOT NULL CHECK (default_model_access IN ('allow', 'deny')),
  require_routing_policy       boolean NOT NULL,
  revision                     bigint NOT NULL DEFAULT 1
);

-- A route is looked up by its name.
CREATE INDEX model_mappings_alias ON model_mappings (org_id, model_alias);

DO $$
DECLARE
  tenant_table text;
BEGIN
  FOREACH tenant_table IN ARRAY ARRAY['model_route_groups', 'model_access_policies', 'governance_config'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant_table);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', tenant_table);
    EXECUTE format('CREATE POLICY %I ON %I USING (org_id = NULLIF(current_setting(''app.org_id'', true), '''')::uuid)',
                   tenant_table || '_of_org', tenant_table);
    EXECUTE format('CREATE TRIGGER set_revision BEFORE INSERT OR UPDATE ON %I FOR EACH ROW EXECUTE FUNCTION set_revision()', tenant_table);
    EXECUTE format('CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON %I FOR EACH ROW EXECUTE FUNCTION record_change('''', '''')',
                   tenant_table);
  END LOOP;
END
$$;
GRANT SELECT, INSERT, UPDATE, DELETE ON model_route_groups, model_access_policies TO spillway_app;
GRANT SELECT, INSERT, UPDATE ON governance_config TO spillway_app;
