DROP POLICY providers_for_prober ON providers;
DROP TRIGGER set_revision ON providers;
DROP TRIGGER record_change ON providers;
CREATE TRIGGER set_revision BEFORE INSERT OR UPDATE ON providers
  FOR EACH ROW EXECUTE FUNCTION set_revision('health_status', 'health_detail', 'health_checked_at');
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON providers
  FOR EACH ROW EXECUTE FUNCTION record_change('health_status,health_detail,health_checked_at', '');
ALTER TABLE providers DROP probe_due_at, DROP probe_from_version, DROP probe_failures;
ALTER TABLE api_keys DROP disabled_by;
ALTER TABLE providers DROP connection_id;
DROP TABLE connections;
DROP TABLE sessions, group_members, groups, users;
