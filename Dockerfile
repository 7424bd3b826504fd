# benchbook in a container with JupyterLab, by the conventions of Binder and repo2docker: user jovyan, port 8888.
#   docker build -t benchbook . && docker run --rm -p 127.0.0.1:8888:8888 benchbook
# A container shares its machine: numbers measured in one are for learning, not for comparing. No image of it has been built
# yet: tests hold its parts (base, user, port, packages) against what set-up asks for.
FROM debian:12.12-slim

# What setup.sh would ask root for: Python's venv, MongoDB's and MySQL's libraries, the papers' Java and Node.js
# (whose version here is 18: the Node language, which needs 20.19, is left out).
RUN apt-get update \
 && apt-get install --yes --no-install-recommends \
        ca-certificates default-jdk-headless git iproute2 libaio1 libcurl4 libnuma1 make maven nodejs npm python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*

ARG NB_USER=jovyan
ARG NB_UID=1000
ENV USER=${NB_USER} HOME=/home/${NB_USER}
RUN adduser --disabled-password --gecos "Default user" --uid ${NB_UID} ${NB_USER}

WORKDIR ${HOME}/benchbook
COPY --chown=${NB_UID}:${NB_UID} . .
RUN chown ${NB_UID}:${NB_UID} .
USER ${NB_USER}
RUN make setup
ENV PATH=${HOME}/benchbook/.venv/bin:${PATH}

# Binder starts a command of its own in the place of this one.
EXPOSE 8888
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--port=8888", "--no-browser", "notebooks"]
