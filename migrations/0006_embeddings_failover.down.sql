ALTER TABLE model_mappings DROP embeddings_failover;
