# Sourced by tools/check and tools/quickstart: packages and configuration. Prints what it installs.

# What a user's build needs on Debian 12 and 13, and a font for the pictures of ttreport.
build_packages="g++ make cmake libboost-dev liburing-dev libpci-dev libnuma-dev libzstd-dev libxxhash-dev libcli11-dev libexpected-dev libtomlplusplus-dev liblz4-dev nlohmann-json3-dev zlib1g-dev libcairo2-dev libsqlite3-dev libnats-dev prometheus-cpp-dev fonts-dejavu-core"
# What tools/check and the presets (TTC_DEVELOPER) need besides, on Debian 12.
developer_packages="$build_packages ninja-build libgtest-dev libbenchmark-dev python3"
check_packages="$developer_packages scdoc chromium python3-pandas clang lld clang-format clang-tidy libclang-rt-14-dev protobuf-compiler gcc-riscv64-unknown-elf spin nats-server"
# What tools/release needs, and what `tools/check --long` tries its artefacts with.
package_packages="$build_packages scdoc dpkg-dev python3 file"
long_packages="$check_packages $package_packages lintian debootstrap abigail-tools systemd gpg fakeroot zsh fish prometheus jupyter-nbconvert python3-ipykernel python3-matplotlib"

install_packages() {
  local wanted missing=()
  case $1 in
    build) wanted=$build_packages ;;
    developer) wanted=$developer_packages ;;
    check) wanted=$check_packages ;;
    package) wanted=$package_packages ;;
    long) wanted=$long_packages ;;
  esac
  for package in $wanted; do
    [ "$package" = libboost-dev ] && [ -e /usr/include/boost/version.hpp ] && continue  # any release will do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  echo "installing Debian packages: ${missing[*]}"
  local sudo=
  [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# Golden data is beside a developer's checkout; a user's machine does not have it.
golden_directory() {
  local directory=${TTC_GOLDEN:-../shared/golden}
  [ -d "$directory" ] && (cd "$directory" && pwd)
  return 0
}

configure() { # preset, more arguments...
  cmake --preset "$1" -DTTC_GOLDEN="$(golden_directory)" "${@:2}" >/dev/null
}
