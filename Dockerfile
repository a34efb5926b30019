# `mt serve` from the wheel of this project, as a user without rights, on a file system that may be read-only:
#
#     docker build -t mt .
#     docker run --read-only --tmpfs /tmp --cap-drop ALL -p 5000:5000 -v ./outputs/RUN:/runs/RUN:ro mt /runs/RUN
#
# tests/test_packaging.py does its steps where there is no Docker.
FROM python:3.11-slim AS wheel
WORKDIR /source
COPY pyproject.toml setup.py README.md LICENSE ./
COPY mt mt
COPY data_prep data_prep
COPY conf conf
RUN pip wheel --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
COPY --from=wheel /wheels /wheels
# torch of CPUs alone is a tenth as large.
RUN pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu "$(ls /wheels/*.whl)[train,serve]" \
    && rm -r /wheels && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin serve
USER 10001
ENV HOME=/tmp PYTHONDONTWRITEBYTECODE=1 NUMBA_CACHE_DIR=/tmp/numba MPLCONFIGDIR=/tmp/matplotlib HF_HUB_OFFLINE=1
EXPOSE 5000
HEALTHCHECK CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:5000/health')"]
ENTRYPOINT ["mt", "serve", "--host", "0.0.0.0"]
