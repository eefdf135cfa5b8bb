DO $$
DECLARE
  changed_table text;
BEGIN
  FOREACH changed_table IN ARRAY ARRAY['api_keys', 'governance_config'] LOOP
    EXECUTE format('ALTER TABLE %I DROP last_modified_by_user_id, DROP last_modified_by_email, DROP last_modified_by_name,
                                   DROP last_modified_at, DROP last_change_note', changed_table);
  END LOOP;
END
$$;
