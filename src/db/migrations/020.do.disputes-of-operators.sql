-- Whether an actor may raise another dispute: fewer than p_most in the last 24 hours. The lock lasts until
-- the statement that writes the dispute has committed, so that concurrent ones are counted. PL/pgSQL reads what
-- was committed before each of its own queries.
CREATE FUNCTION may_raise_dispute(p_actor text, p_most integer) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('dispute ' || p_actor, 0));
  RETURN p_most > (SELECT count(*) FROM order_commands
    WHERE actor = p_actor AND name = 'dispute' AND state <> 'REFUSED'
      AND written_at > service_now() - interval '24 hours');
END $$;
