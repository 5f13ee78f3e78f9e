"""Settings of Django's own tests: the two databases that WEFT_SUITE_DATABASES names (JSON), which are there already.

On Weft addresses are texts: it has no type inet, and without the column no table of an application would be made.
"""

import json
import os
import warnings

from django.db.backends.postgresql.base import DatabaseWrapper

# A server without a database `postgres` is asked in the one that there is.
warnings.filterwarnings("ignore", message="Normally Django will use a connection to the 'postgres' database")


def database(place):
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": place["dbname"],
        "USER": place["user"],
        "HOST": place["host"],
        "PORT": place["port"],
        "TEST": {"NAME": place["dbname"]},
    }


DATABASES = {name: database(place) for name, place in json.loads(os.environ["WEFT_SUITE_DATABASES"]).items()}
SECRET_KEY = "django_tests_secret_key"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
TEST_RUNNER = "outcomes.DjangoRunner"

if os.environ["WEFT_SUITE_SYSTEM"] == "Weft":
    DatabaseWrapper.data_types = {**DatabaseWrapper.data_types, "GenericIPAddressField": "varchar(39)"}
