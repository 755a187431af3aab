# The service and the command line in one image, with the environments of the shipped plans built:
# a run inside needs no network. Build: docker build -t saq-chaos .
# BASE_IMAGE may be any image with Python 3.11 or newer as `python3`, with its venv module and pip.
ARG BASE_IMAGE=python:3.11.14-slim-bookworm

FROM ${BASE_IMAGE} AS build
# A company's own certificate authority in the base image counts for uv as it does for pip.
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 UV_SYSTEM_CERTS=1 UV_NO_CACHE=1 \
    SAQCHAOS_CACHE=/opt/saq-chaos/cache
WORKDIR /src
COPY requirements/image.txt requirements/
RUN python3 -m venv /opt/saq-chaos \
 && /opt/saq-chaos/bin/pip install --quiet --require-hashes -r requirements/image.txt
COPY pyproject.toml README.md LICENSE ./
COPY chaos chaos
COPY service service
COPY plans plans
RUN /opt/saq-chaos/bin/pip install --quiet --no-deps . \
 && /opt/saq-chaos/bin/saq-chaos prepare \
 && /opt/saq-chaos/bin/pip uninstall --quiet --yes uv \
 && rm -rf /opt/saq-chaos/lib/python3*/site-packages/pip \
 && { python3 -m compileall -q /opt/saq-chaos > /dev/null || true; }

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="saq-chaos" \
      org.opencontainers.image.description="Proves what a saq worker does under fire" \
      org.opencontainers.image.licenses="MIT"
# Names and numbers of the user are written down, so that a volume's files keep an owner.
RUN echo 'saqchaos:x:10001:10001:saq-chaos:/data:/usr/sbin/nologin' >> /etc/passwd \
 && echo 'saqchaos:x:10001:' >> /etc/group \
 && mkdir -m 0700 /data && mkdir -m 0755 /secrets && chown 10001:10001 /data /secrets
COPY --from=build --chown=10001:10001 /opt/saq-chaos /opt/saq-chaos
ENV PATH=/opt/saq-chaos/bin:$PATH HOME=/data PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    SAQCHAOS_CACHE=/opt/saq-chaos/cache SAQCHAOS_DATA_DIR=/data/service \
    SAQCHAOS_HOST=0.0.0.0 SAQCHAOS_PORT=8080 SAQCHAOS_TOKENS_FILE=/data/tokens \
    SAQCHAOS_FIRST_TOKENS=/secrets
WORKDIR /data
USER 10001:10001
VOLUME ["/data", "/secrets"]
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=10s --start-period=30s --retries=3 \
    CMD ["python3", "-m", "service.health"]
# PID 1 reaps what a killed runner leaves, and hands signals on.
ENTRYPOINT ["dumb-init", "--"]
CMD ["saq-chaos", "serve"]
