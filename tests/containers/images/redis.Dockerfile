# Stands in for the redis image where no image registry can be reached: Debian's own package.
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends redis-server \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /var/lib/redis
USER redis
CMD ["redis-server"]
