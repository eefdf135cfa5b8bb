-- What a change was: revisions of rows, the trail of what changed in them, and keys that make a creation safe to send again.

-- A row's revision is the organization's version at the last change that an administrator made to it. What the gateway itself
-- notes beside (a connection check, when a key was last used) is no change: those columns are the trigger's arguments.
CREATE FUNCTION set_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND to_jsonb(NEW) - TG_ARGV::text[] = to_jsonb(OLD) - TG_ARGV::text[] THEN
    RETURN NEW;
  END IF;
  SELECT version INTO NEW.revision FROM org_config WHERE org_id = NEW.org_id;
  RETURN NEW;
END
$$;

-- One row for every row that an operation touched; the operation itself is the audit event of the same version.
CREATE TABLE audit_changes (
  org_id      uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  version     bigint NOT NULL,
  ordinal     bigint GENERATED ALWAYS AS IDENTITY, -- the order within a version
  kind        text NOT NULL, -- the table
  resource_id uuid NOT NULL,
  action      text NOT NULL CHECK (action IN ('create', 'update', 'delete')),
  before      jsonb, -- of an update: only the columns that changed
  after       jsonb,
  PRIMARY KEY (org_id, version, ordinal)
);

-- Arguments: columns that are no change, and columns that hold a secret or its hash; both as comma-separated lists. A secret
-- that changed leaves a trace in what stands beside it (a prefix, a version).
CREATE FUNCTION record_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  hidden constant text[] := string_to_array(TG_ARGV[0], ',') || string_to_array(TG_ARGV[1], ',')
    || ARRAY['org_id', 'id', 'revision', 'address_name', 'created_at', 'updated_at', 'created_by_user_id', 'created_by_email', 'created_by_name',
             'last_modified_at', 'last_modified_by_user_id', 'last_modified_by_email', 'last_modified_by_name', 'last_change_note'];
  old_row jsonb;
  new_row jsonb;
  org uuid;
  row_id uuid;
BEGIN
  IF TG_OP <> 'INSERT' THEN
    old_row := to_jsonb(OLD) - hidden;
    org := OLD.org_id;
    row_id := OLD.id;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    new_row := to_jsonb(NEW) - hidden;
    org := NEW.org_id;
    row_id := NEW.id;
  END IF;
  IF TG_OP = 'UPDATE' THEN
    SELECT jsonb_object_agg(o.key, o.value), jsonb_object_agg(o.key, new_row -> o.key) INTO old_row, new_row
    FROM jsonb_each(old_row) o WHERE o.value IS DISTINCT FROM new_row -> o.key;
    IF old_row IS NULL THEN
      RETURN NULL;
    END IF;
  END IF;
  INSERT INTO audit_changes (org_id, version, kind, resource_id, action, before, after)
  SELECT org, c.version, TG_TABLE_NAME, row_id,
         CASE TG_OP WHEN 'INSERT' THEN 'create' WHEN 'UPDATE' THEN 'update' ELSE 'delete' END, old_row, new_row
  FROM org_config c JOIN organizations o ON o.org_id = c.org_id -- which is gone where the whole organization goes
  WHERE c.org_id = org;
  RETURN NULL;
END
$$;

ALTER TABLE providers ADD revision bigint NOT NULL DEFAULT 1;
ALTER TABLE model_mappings ADD revision bigint NOT NULL DEFAULT 1;
ALTER TABLE api_keys ADD revision bigint NOT NULL DEFAULT 1;

CREATE TRIGGER set_revision BEFORE INSERT OR UPDATE ON providers
  FOR EACH ROW EXECUTE FUNCTION set_revision('health_status', 'health_detail', 'health_checked_at');
CREATE TRIGGER set_revision BEFORE INSERT OR UPDATE ON model_mappings FOR EACH ROW EXECUTE FUNCTION set_revision();
CREATE TRIGGER set_revision BEFORE INSERT OR UPDATE ON api_keys FOR EACH ROW EXECUTE FUNCTION set_revision('last_used_at');

CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON providers
  FOR EACH ROW EXECUTE FUNCTION record_change('health_status,health_detail,health_checked_at', '');
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON provider_credentials FOR EACH ROW EXECUTE FUNCTION record_change('', 'ciphertext');
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON model_mappings FOR EACH ROW EXECUTE FUNCTION record_change('', '');
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON api_keys FOR EACH ROW EXECUTE FUNCTION record_change('last_used_at', 'hash,previous_hash');

-- One row for every Idempotency-Key of the last day.
CREATE TABLE idempotency_keys (
  org_id      uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  subject     uuid NOT NULL, -- whose key it is: two callers may choose the same
  key         text NOT NULL,
  fingerprint bytea NOT NULL CHECK (length(fingerprint) = 32), -- of the request
  begun_at    timestamptz NOT NULL DEFAULT now(),
  version     bigint, -- which the change made; null: none was committed
  resource_id uuid,
  status      integer, -- of the answer; null: it was not kept
  answer      bytea,
  etag        text, -- of the answer
  PRIMARY KEY (org_id, subject, key)
);
CREATE INDEX idempotency_keys_begun ON idempotency_keys (org_id, begun_at);

DO $$
DECLARE
  tenant_table text;
BEGIN
  FOREACH tenant_table IN ARRAY ARRAY['audit_changes', 'idempotency_keys'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant_table);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', tenant_table);
    EXECUTE format('CREATE POLICY %I ON %I USING (org_id = NULLIF(current_setting(''app.org_id'', true), '''')::uuid)',
                   tenant_table || '_of_org', tenant_table);
  END LOOP;
END
$$;
GRANT SELECT, INSERT ON audit_changes TO spillway_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON idempotency_keys TO spillway_app;
