package store

import ()
