# Both long-running programs in one image: /manager (default) and /styrmin-server.
# test/manifests builds as it says here and runs what comes out.
FROM --platform=$BUILDPLATFORM golang:1.26.8 AS build
ARG TARGETOS
ARG TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY api api
COPY cmd cmd
COPY config config
COPY controllers controllers
COPY internal internal
COPY reporter reporter
COPY server server
COPY worker worker
ARG VERSION=dev
# Static, with the time zones, and the same bytes for the same sources everywhere.
ENV CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH GOFLAGS="-trimpath -buildvcs=false -tags=timetzdata"
RUN go build -ldflags "-s -w -X main.version=$VERSION" -o /out/manager ./cmd \
 && go build -ldflags "-s -w -X main.version=$VERSION" -o /out/styrmin-server ./cmd/server

FROM scratch
ARG VERSION=dev
LABEL org.opencontainers.image.title="Styrmin" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.source="https://github.com/styrmin/styrmin" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/ /
USER 65532:65532
ENTRYPOINT ["/manager"]
