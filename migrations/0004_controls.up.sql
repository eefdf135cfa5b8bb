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

DO $$
DECLARE
  tenant_table text;
BEGIN
  FOREACH tenant_table IN ARRAY ARRAY['model_pricing'] LOOP
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
