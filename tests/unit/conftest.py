"""Hypothesis on a machine that other tests share: no example fails for being slow. CI=true does that by itself."""

from hypothesis import HealthCheck, settings

from tests.conftest import IN_CI

if not IN_CI:
    settings.register_profile("shared machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("shared machine")
