-- Which targets of a route may give vectors of another model than the route's.
ALTER TABLE model_mappings ADD embeddings_failover text NOT NULL DEFAULT 'same_model';
