-- Who changed a key, or the governance, last, and why. Null: nobody since this step.
DO $$
DECLARE
  changed_table text;
BEGIN
  FOREACH changed_table IN ARRAY ARRAY['api_keys', 'governance_config'] LOOP
    EXECUTE format('ALTER TABLE %I ADD last_modified_by_user_id uuid, ADD last_modified_by_email text, ADD last_modified_by_name text,
                                   ADD last_modified_at timestamptz, ADD last_change_note text', changed_table);
  END LOOP;
END
$$;
