# syntax=docker/dockerfile:1
# chartkit with Helm's library inside, for linux/amd64 and linux/arm64:
#   docker buildx build --platform linux/amd64,linux/arm64 -t chartkit .
# The tag with the digest of its images for all architectures.
ARG PYTHON=3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b

FROM python:${PYTHON} AS build
WORKDIR /source
COPY . .
# The lock file's hashes are checked while its packages are fetched; the image gets those that
# chartkit needs at run time.
RUN pip download --no-cache-dir --quiet --no-deps --require-hashes --requirement requirements.lock --dest /wheels \
 && python -m venv /build && /build/bin/pip install --quiet --no-index --find-links /wheels build hatchling editables \
 && /build/bin/python -m build --no-isolation --wheel --outdir /wheels \
 && python -m venv /opt/chartkit \
 && /opt/chartkit/bin/pip install --quiet --no-index --find-links /wheels 'chartkit[cluster,helm,signatures]' \
 && /opt/chartkit/bin/chartkit --version

FROM python:${PYTHON}
LABEL org.opencontainers.image.title="chartkit" \
      org.opencontainers.image.description="Generate, check and prove Helm charts for Kyverno and its policies." \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/chartkit /opt/chartkit
ENV PATH=/opt/chartkit/bin:$PATH HOME=/tmp
USER 65532:65532
WORKDIR /work
ENTRYPOINT ["chartkit"]
CMD ["--help"]
