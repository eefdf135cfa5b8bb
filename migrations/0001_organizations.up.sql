-- The first schema: organizations with their configuration, and the wall between them.
--
-- Who is who. The migrations run as the owner of the database, which needs CREATEROLE once. The application runs as
-- spillway_app, which owns nothing, cannot log in by itself and cannot pass row level security. A login role becomes it by
-- membership (GRANT spillway_app TO ...).
--
-- The wall. Every tenant table has org_id, row level security that is FORCEd (so it holds for the owner too), and one policy:
-- the row's organization is the one in the transaction-local setting app.org_id. Without the setting nothing is visible. Foreign
-- keys between tenant tables are composite, (org_id, id): a row cannot refer to another organization's, whatever the code does.
--
-- The exceptions are narrow, for SELECT only, each on a setting of its own:
--   app.publisher = 'on'   org_config: which organizations have a version to publish
--   app.client_id          service_accounts: the one account that asks for a token
--   app.org_name           organizations: the one organization of that name, for the command line

-- Roles belong to the cluster, so databases that are migrated at the same time meet here. Before Postgres 16 a member may always
-- become the role; since then whoever creates a role is a member at once, but may become it only when that is granted too.
DO $$
DECLARE
  become text := CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'spillway_app') THEN
    BEGIN
      CREATE ROLE spillway_app NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT NOBYPASSRLS NOREPLICATION;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
      NULL; -- another database's migration was first
    END;
  END IF;
  IF NOT pg_has_role(current_user, 'spillway_app', become) THEN
    BEGIN
      EXECUTE format('GRANT spillway_app TO %I', current_user);
    EXCEPTION WHEN unique_violation THEN
      NULL; -- the same
    END;
  END IF;
END
$$;

CREATE TABLE organizations (
  org_id     uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  name       text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX organizations_name ON organizations (lower(name));

-- One row per organization. Every write to its configuration starts by raising version here: the row lock makes the order of
-- versions the order of commits, and the row is the outbox of the publisher.
CREATE TABLE org_config (
  org_id            uuid PRIMARY KEY REFERENCES organizations ON DELETE CASCADE,
  epoch             bigint NOT NULL DEFAULT 1,
  version           bigint NOT NULL DEFAULT 1,
  published_version bigint NOT NULL DEFAULT 0
);
CREATE INDEX org_config_pending ON org_config (org_id) WHERE version > published_version;

CREATE TABLE service_accounts (
  org_id      uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  id          uuid NOT NULL DEFAULT gen_random_uuid(),
  client_id   text NOT NULL UNIQUE,
  secret_hash bytea NOT NULL CHECK (length(secret_hash) = 32),
  name        text NOT NULL,
  role        text NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (org_id, id)
);

CREATE TABLE providers (
  org_id                   uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  id                       uuid NOT NULL,
  name                     text NOT NULL,
  address_name             text NOT NULL, -- the name as "<provider>/<model>" is compared
  model_provider           text NOT NULL,
  base_url                 text NOT NULL,
  auth_type                text NOT NULL,
  settings                 jsonb NOT NULL CHECK (jsonb_typeof(settings) = 'object'),
  enabled                  boolean NOT NULL,
  enforce_health_check     boolean NOT NULL,
  request_timeout_secs     integer,
  stream_idle_timeout_secs integer,
  model_sync_mode          text NOT NULL,
  billing_mode             text NOT NULL,
  billing_reason           text,
  billing_note             text,
  health_status            text NOT NULL DEFAULT 'unverified' CHECK (health_status IN ('unverified', 'healthy', 'unhealthy')),
  health_detail            text NOT NULL DEFAULT '',
  health_checked_at        timestamptz,
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
  PRIMARY KEY (org_id, id),
  CHECK (billing_mode <> 'not_metered' OR billing_reason IS NOT NULL)
);
CREATE UNIQUE INDEX providers_address_name ON providers (org_id, address_name);

-- A provider's secret, sealed to the keys of the data plane: nothing here can open it.
CREATE TABLE provider_credentials (
  org_id      uuid NOT NULL,
  id          uuid NOT NULL,
  provider_id uuid NOT NULL,
  version     bigint NOT NULL,
  host        text NOT NULL,
  key_id      text NOT NULL,
  ciphertext  bytea NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now(),
  updated_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (org_id, id),
  UNIQUE (org_id, provider_id),
  FOREIGN KEY (org_id, provider_id) REFERENCES providers (org_id, id) ON DELETE CASCADE
);

CREATE TABLE model_mappings (
  org_id                     uuid NOT NULL,
  id                         uuid NOT NULL,
  provider_id                uuid NOT NULL,
  model_alias                text NOT NULL,
  upstream_model             text NOT NULL,
  enabled                    boolean NOT NULL,
  priority                   integer NOT NULL,
  retry_on_429_count         integer NOT NULL,
  retry_on_429_max_wait_secs integer NOT NULL,
  bare_alias                 boolean NOT NULL,
  request_timeout_secs       integer,
  stream_idle_timeout_secs   integer,
  source                     text NOT NULL,
  cooldown_failure_threshold integer NOT NULL DEFAULT 10, -- the defaults are node.DefaultCooldown
  cooldown_window_secs       integer NOT NULL DEFAULT 60,
  cooldown_first_secs        integer NOT NULL DEFAULT 30,
  cooldown_max_secs          integer NOT NULL DEFAULT 300,
  cooldown_rate_limited_secs integer NOT NULL DEFAULT 30,
  cooldown_overloaded_secs   integer NOT NULL DEFAULT 10,
  created_at                 timestamptz NOT NULL DEFAULT now(),
  updated_at                 timestamptz NOT NULL DEFAULT now(),
  created_by_user_id         uuid,
  created_by_email           text,
  created_by_name            text,
  last_modified_by_user_id   uuid,
  last_modified_by_email     text,
  last_modified_by_name      text,
  last_modified_at           timestamptz,
  last_change_note           text,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, provider_id) REFERENCES providers (org_id, id) ON DELETE CASCADE
);
-- A route lists a target once; and a model has one enablement, which is the row where both names are the same.
CREATE UNIQUE INDEX model_mappings_target ON model_mappings (org_id, provider_id, upstream_model, model_alias);

CREATE TABLE api_keys (
  org_id               uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  id                   uuid NOT NULL,
  hash                 bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  key_prefix           text NOT NULL,
  previous_hash        bytea CHECK (length(previous_hash) = 32),
  previous_valid_until timestamptz, -- the end of a rotation's grace period
  name                 text NOT NULL,
  kind                 text NOT NULL,
  user_id              uuid,
  user_email           text,
  group_name           text,
  scopes               text[] NOT NULL,
  expires_at           timestamptz,
  revoked_at           timestamptz,
  disabled_at          timestamptz,
  last_used_at         timestamptz,
  created_at           timestamptz NOT NULL DEFAULT now(),
  created_by_user_id   uuid,
  created_by_email     text,
  created_by_name      text,
  PRIMARY KEY (org_id, id),
  CHECK (user_id IS NULL OR group_name IS NULL),
  CHECK ((previous_hash IS NULL) = (previous_valid_until IS NULL))
);

-- Who changed what. Rows are added and never changed; there is no foreign key to what they speak of, which may be gone.
CREATE TABLE audit_events (
  org_id      uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  id          uuid NOT NULL,
  at          timestamptz NOT NULL DEFAULT now(),
  version     bigint NOT NULL, -- of org_config, which the change made
  operation   text NOT NULL,
  resource_id uuid,
  actor_kind  text NOT NULL CHECK (actor_kind IN ('user', 'service_account', 'command_line')),
  actor_id    uuid,
  actor_name  text NOT NULL,
  change_note text,
  PRIMARY KEY (org_id, id)
);
CREATE INDEX audit_events_at ON audit_events (org_id, at);

DO $$
DECLARE
  tenant_table text;
BEGIN
  FOREACH tenant_table IN ARRAY ARRAY['organizations', 'org_config', 'service_accounts', 'providers', 'provider_credentials',
                                      'model_mappings', 'api_keys', 'audit_events'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant_table);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', tenant_table);
    EXECUTE format('CREATE POLICY %I ON %I USING (org_id = NULLIF(current_setting(''app.org_id'', true), '''')::uuid)',
                   tenant_table || '_of_org', tenant_table);
  END LOOP;
END
$$;
CREATE POLICY org_config_for_publisher ON org_config FOR SELECT USING (current_setting('app.publisher', true) = 'on');
CREATE POLICY service_accounts_by_client ON service_accounts FOR SELECT USING (client_id = NULLIF(current_setting('app.client_id', true), ''));
CREATE POLICY organizations_by_name ON organizations FOR SELECT USING (lower(name) = lower(NULLIF(current_setting('app.org_name', true), '')));

GRANT USAGE ON SCHEMA public TO spillway_app;
GRANT SELECT, INSERT ON organizations, service_accounts, audit_events TO spillway_app;
GRANT SELECT, INSERT, UPDATE ON org_config, api_keys TO spillway_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON providers, provider_credentials, model_mappings TO spillway_app;
