-- People: who may sign in, the groups they are in, and their sessions; shared credentials; and when each provider's connection is
-- checked next.
--
-- Three more exceptions to the wall, narrow as the first ones, for SELECT only, each on a setting of its own:
--   app.sign_in    users: the accounts of one address
--   app.session    sessions: the one session of a token's hash
--   app.prober = 'on'   providers: which are due for a check

CREATE TABLE users (
  org_id                   uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  id                       uuid NOT NULL,
  email                    text NOT NULL,
  name                     text NOT NULL,
  role                     text NOT NULL,
  enabled                  boolean NOT NULL,
  password_hash            text, -- null: nobody signs in with a password
  password_changed_at      timestamptz,
  last_sign_in_at          timestamptz,
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
  CHECK (password_hash IS NULL OR password_changed_at IS NOT NULL)
);
CREATE UNIQUE INDEX users_email ON users (org_id, lower(email));
CREATE INDEX users_sign_in ON users (lower(email));

-- A group is known by its name: policies and keys name it, so the name never changes.
CREATE TABLE groups (
  org_id                   uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  id                       uuid NOT NULL,
  name                     text NOT NULL,
  description              text,
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
CREATE UNIQUE INDEX groups_name ON groups (org_id, lower(name));

CREATE TABLE group_members (
  org_id   uuid NOT NULL,
  id       uuid NOT NULL DEFAULT gen_random_uuid(), -- by which the audit trail names the row
  group_id uuid NOT NULL,
  user_id  uuid NOT NULL,
  PRIMARY KEY (org_id, group_id, user_id),
  FOREIGN KEY (org_id, group_id) REFERENCES groups (org_id, id) ON DELETE CASCADE,
  FOREIGN KEY (org_id, user_id) REFERENCES users (org_id, id) ON DELETE CASCADE
);
CREATE INDEX group_members_user ON group_members (org_id, user_id);

-- Sessions of the portal. The token itself is in a cookie and nowhere else.
CREATE TABLE sessions (
  org_id       uuid NOT NULL,
  id           uuid NOT NULL,
  user_id      uuid NOT NULL,
  token_hash   bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
  client       text NOT NULL, -- what the browser called itself
  created_at   timestamptz NOT NULL DEFAULT now(),
  last_seen_at timestamptz NOT NULL DEFAULT now(),
  expires_at   timestamptz NOT NULL, -- whatever happens
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, user_id) REFERENCES users (org_id, id) ON DELETE CASCADE
);
CREATE INDEX sessions_user ON sessions (org_id, user_id);

-- An address that signs in, or fails to, is no change of an account, and neither is a hash that is made stronger meanwhile; a
-- new password shows in password_changed_at.
CREATE TRIGGER set_revision BEFORE INSERT OR UPDATE ON users
  FOR EACH ROW EXECUTE FUNCTION set_revision('last_sign_in_at', 'password_hash');
CREATE TRIGGER set_revision BEFORE INSERT OR UPDATE ON groups FOR EACH ROW EXECUTE FUNCTION set_revision();
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON users
  FOR EACH ROW EXECUTE FUNCTION record_change('last_sign_in_at', 'password_hash');
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON groups FOR EACH ROW EXECUTE FUNCTION record_change('', '');
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON group_members FOR EACH ROW EXECUTE FUNCTION record_change('', '');

-- Who disabled a key: what an administrator disabled, its user does not enable. Null: an administrator, or code of before.
ALTER TABLE api_keys ADD disabled_by uuid;

-- Shared credentials: sealed once, used by every provider that names one. Code of before makes providers with a credential of
-- their own and does not know these.
CREATE TABLE connections (
  org_id                   uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  id                       uuid NOT NULL,
  name                     text NOT NULL,
  model_provider           text NOT NULL,
  base_url                 text NOT NULL,
  auth_type                text NOT NULL,
  settings                 jsonb NOT NULL CHECK (jsonb_typeof(settings) = 'object'),
  key_last4                text,
  seal_version             bigint NOT NULL, -- rises with every secret
  host                     text, -- of the seal, like the two below null where no secret is stored
  key_id                   text,
  ciphertext               bytea,
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
  CHECK ((host IS NULL) = (ciphertext IS NULL) AND (key_id IS NULL) = (ciphertext IS NULL))
);
CREATE UNIQUE INDEX connections_name ON connections (org_id, lower(name));
CREATE TRIGGER set_revision BEFORE INSERT OR UPDATE ON connections FOR EACH ROW EXECUTE FUNCTION set_revision();
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON connections FOR EACH ROW EXECUTE FUNCTION record_change('', 'ciphertext');
ALTER TABLE providers ADD connection_id uuid;
ALTER TABLE providers ADD CONSTRAINT providers_connection FOREIGN KEY (org_id, connection_id) REFERENCES connections (org_id, id);
CREATE INDEX providers_of_connection ON providers (org_id, connection_id) WHERE connection_id IS NOT NULL;

-- Connection checks. Code of before makes providers that are due at once, which is right.
ALTER TABLE providers ADD probe_due_at timestamptz NOT NULL DEFAULT now();
ALTER TABLE providers ADD probe_from_version bigint NOT NULL DEFAULT 0; -- a check of an older configuration says nothing of this connection
ALTER TABLE providers ADD probe_failures integer NOT NULL DEFAULT 0;    -- in a row, that never reached it
CREATE INDEX providers_probe_due ON providers (probe_due_at) WHERE enabled;

DROP TRIGGER set_revision ON providers;
DROP TRIGGER record_change ON providers;
CREATE TRIGGER set_revision BEFORE INSERT OR UPDATE ON providers FOR EACH ROW EXECUTE FUNCTION
  set_revision('health_status', 'health_detail', 'health_checked_at', 'probe_due_at', 'probe_from_version', 'probe_failures');
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON providers FOR EACH ROW EXECUTE FUNCTION
  record_change('health_status,health_detail,health_checked_at,probe_due_at,probe_from_version,probe_failures', '');

DO $$
DECLARE
  tenant_table text;
BEGIN
  FOREACH tenant_table IN ARRAY ARRAY['users', 'groups', 'group_members', 'sessions', 'connections'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant_table);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', tenant_table);
    EXECUTE format('CREATE POLICY %I ON %I USING (org_id = NULLIF(current_setting(''app.org_id'', true), '''')::uuid)',
                   tenant_table || '_of_org', tenant_table);
  END LOOP;
END
$$;
CREATE POLICY users_for_sign_in ON users FOR SELECT USING (lower(email) = lower(NULLIF(current_setting('app.sign_in', true), '')));
CREATE POLICY sessions_by_token ON sessions FOR SELECT USING (encode(token_hash, 'hex') = NULLIF(current_setting('app.session', true), ''));
CREATE POLICY providers_for_prober ON providers FOR SELECT USING (current_setting('app.prober', true) = 'on');

GRANT SELECT, INSERT, UPDATE, DELETE ON users, groups, group_members, sessions, connections TO spillway_app;
