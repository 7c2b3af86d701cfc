-- The admins who have ever confirmed a second factor. A row is never deleted, so "there were two" cannot become false.
-- The service's login only reads the table; the trigger writes it with the privileges of the table's owner.
CREATE TABLE confirmed_admins (
  user_id text PRIMARY KEY REFERENCES users,
  confirmed_at timestamptz NOT NULL DEFAULT service_now()
);
CREATE VIEW shared.confirmed_admins AS SELECT user_id FROM confirmed_admins;

CREATE FUNCTION record_confirmed_admin() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO confirmed_admins (user_id) VALUES (NEW.user_id) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER record_confirmed_admin AFTER INSERT OR UPDATE OF operator_role, totp_confirmed_at ON users
FOR EACH ROW WHEN (NEW.operator_role = 'admin' AND NEW.totp_confirmed_at IS NOT NULL)
EXECUTE FUNCTION record_confirmed_admin();

-- Whether every operator is made by two persons from now on: two admins have confirmed a second factor once.
CREATE FUNCTION has_two_admins() RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT count(*) >= 2 FROM confirmed_admins
$$;

-- Refuses to disable the last other active admin without a proposal. Two admins cannot disable each other at once.
CREATE FUNCTION assert_admin_remains(p_user_id text, p_by text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM shared.users WHERE operator_role = 'admin' ORDER BY user_id FOR UPDATE;
  IF EXISTS (SELECT FROM shared.users WHERE user_id = p_user_id AND operator_role = 'admin'
      AND totp_confirmed_at IS NOT NULL)
    AND NOT EXISTS (SELECT FROM shared.users WHERE operator_role = 'admin' AND disabled_at IS NULL
      AND totp_confirmed_at IS NOT NULL AND user_id NOT IN (p_user_id, p_by))
  THEN
    PERFORM refuse_act('This is the last other active admin, whose end has to be proposed');
  END IF;
  IF NOT may_act(p_by, '{admin}') THEN
    PERFORM refuse_act('Your role does not allow this');
  END IF;
END $$;

-- Refuses to make an operator without a proposal once two admins have confirmed a second factor.
CREATE FUNCTION assert_first_operators() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF has_two_admins() THEN
    PERFORM refuse_act('There were two admins, so an operator is proposed on the dashboard, or made with --as EMAIL --break-glass --reason TEXT');
  END IF;
END $$;
