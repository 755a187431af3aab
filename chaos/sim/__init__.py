"""The simulator: the unmodified saq Worker and RedisQueue on virtual time, in one process.

It runs on the variant's interpreter, beside saq and redis-py. `redis_model` needs redis-py alone.
"""
