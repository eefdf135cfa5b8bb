-- Controls: what use costs, how much of it is allowed, and which model answers a request that leaves it open.

-- One row for every version of a price. Versions are added; only one that is not in force yet is changed or deleted. Money is
-- decimal. There is no foreign key to the provider: what was billed by it stays when it is gone.
CREATE TABLE model_pricing (
  org_id                   uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  id                       uuid NOT NULL,
  model_pattern            text NOT NULL,
  model_provider           text NOT NULL, -- empty: none; with the pattern it names the rule
  provider_id              uuid,
  catalog_slug             text,
  input_cost               numeric NOT NULL CHECK (input_cost >= 0), -- all per million tokens
  output_cost              numeric NOT NULL CHECK (output_cost >= 0),
  cache_read_cost          numeric CHECK (cache_read_cost >= 0),
  cache_write_cost         numeric CHECK (cache_write_cost >= 0),
  long_context_threshold   bigint CHECK (long_context_threshold > 0), -- null: there is no other price for long prompts
  long_context_input       numeric CHECK (long_context_input >= 0),
  long_context_output      numeric CHECK (long_context_output >= 0),
  long_context_cache_read  numeric CHECK (long_context_cache_read >= 0),
  long_context_cache_write numeric CHECK (long_context_cache_write >= 0),
  sync_mode                text NOT NULL,
  effective_from           timestamptz NOT NULL,
  is_archived              boolean NOT NULL,
  change_source            text NOT NULL,
  change_reason            text,
  created_at               timestamptz NOT NULL DEFAULT now(),
  created_by_user_id       uuid,
  created_by_email         text,
  created_by_name          text,
  revision                 bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (org_id, id),
  CHECK ((long_context_threshold IS NULL) = (long_context_input IS NULL) AND (long_context_threshold IS NULL) = (long_context_output IS NULL))
);
CREATE UNIQUE INDEX model_pricing_instant ON model_pricing (org_id, model_pattern, model_provider, effective_from);

-- Whom and what a limit is for decides what it counts, so there is one for each. Names are not resolved: who they name may come
-- later, and go.
CREATE TABLE rate_limits (
  org_id                   uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  id                       uuid NOT NULL,
  name                     text NOT NULL,
  scope_type               text NOT NULL,
  scope_id                 uuid,
  scope_value              text,
  member_of_group          text,
  traffic_type             text NOT NULL,
  target_provider_id       uuid,
  target_upstream_model    text,
  target_model_alias       text,
  target_mcp_server_id     uuid,
  requests_per_minute      bigint CHECK (requests_per_minute >= 0),
  tokens_per_minute        bigint CHECK (tokens_per_minute >= 0),
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
  CHECK (requests_per_minute IS NOT NULL OR tokens_per_minute IS NOT NULL)
);
CREATE UNIQUE INDEX rate_limits_aim ON rate_limits (org_id, scope_type, scope_id, scope_value, member_of_group, traffic_type,
  target_provider_id, target_upstream_model, target_model_alias, target_mcp_server_id) NULLS NOT DISTINCT;

CREATE TABLE budgets (
  org_id                   uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  id                       uuid NOT NULL,
  name                     text NOT NULL,
  scope_type               text NOT NULL,
  scope_id                 uuid,
  scope_value              text,
  member_of_group          text,
  traffic_type             text NOT NULL,
  target_provider_id       uuid,
  target_upstream_model    text,
  target_model_alias       text,
  target_mcp_server_id     uuid,
  period                   text NOT NULL CHECK (period IN ('daily', 'weekly', 'monthly')),
  token_limit              bigint NOT NULL CHECK (token_limit >= 0), -- 0: none
  cost_limit               numeric CHECK (cost_limit > 0),
  currency                 text NOT NULL,
  alert_thresholds         integer[] NOT NULL,
  action_on_exhaust        text NOT NULL CHECK (action_on_exhaust IN ('block', 'throttle', 'warn')),
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
  CHECK (token_limit > 0 OR cost_limit IS NOT NULL)
);
CREATE UNIQUE INDEX budgets_aim ON budgets (org_id, scope_type, scope_id, scope_value, member_of_group, traffic_type, period,
  target_provider_id, target_upstream_model, target_model_alias, target_mcp_server_id) NULLS NOT DISTINCT;

-- A routing policy is a name that picks one of its slots for each request; slots name what callers may name.
CREATE TABLE routing_policies (
  org_id                   uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  id                       uuid NOT NULL,
  model_alias              text NOT NULL,
  description              text,
  enabled                  boolean NOT NULL,
  posture                  text NOT NULL CHECK (posture IN ('savings', 'balanced', 'quality')),
  slots                    jsonb NOT NULL CHECK (jsonb_typeof(slots) = 'array'),
  context_breakpoints      bigint[] NOT NULL,
  determiner_model_alias   text,
  determiner_prompt        text,
  router_input_max_chars   integer NOT NULL,
  default_slot_on_failure  integer NOT NULL,
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
CREATE UNIQUE INDEX routing_policies_alias ON routing_policies (org_id, lower(model_alias));

CREATE TABLE routing_rules (
  org_id                   uuid NOT NULL,
  id                       uuid NOT NULL,
  policy_id                uuid NOT NULL,
  name                     text NOT NULL,
  description              text NOT NULL,
  floor_slot               integer CHECK (floor_slot >= 0),
  deny_slots               integer[] NOT NULL,
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
  FOREIGN KEY (org_id, policy_id) REFERENCES routing_policies (org_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX routing_rules_name ON routing_rules (org_id, policy_id, name);

DO $$
DECLARE
  tenant_table text;
BEGIN
  FOREACH tenant_table IN ARRAY ARRAY['model_pricing', 'rate_limits', 'budgets', 'routing_policies', 'routing_rules'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant_table);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', tenant_table);
    EXECUTE format('CREATE POLICY %I ON %I USING (org_id = NULLIF(current_setting(''app.org_id'', true), '''')::uuid)',
                   tenant_table || '_of_org', tenant_table);
    EXECUTE format('CREATE TRIGGER set_revision BEFORE INSERT OR UPDATE ON %I FOR EACH ROW EXECUTE FUNCTION set_revision()', tenant_table);
    EXECUTE format('CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON %I FOR EACH ROW EXECUTE FUNCTION record_change('''', '''')',
                   tenant_table);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO spillway_app', tenant_table);
  END LOOP;
END
$$;
