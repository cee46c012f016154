// swift-tools-version: 6.3
// SPDX-License-Identifier: MIT
import PackageDescription

/// Under the thread sanitizer, which `make test-tsan` says by this, another lock stands in for the
/// standard library's (see Sources/RefrainLocks). Nobody who uses the package sets it.
let isThreadSanitized = Context.environment["REFRAIN_THREAD_SANITIZER"] == "1"

/// What every target of ours is compiled with.
var settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]
if isThreadSanitized {
  settings.append(.define("REFRAIN_THREAD_SANITIZER"))
} else {
  settings.append(.enableUpcomingFeature("MemberImportVisibility"))
}

/// A build for debugging whose core and player are optimised all the same, which `make` says by this:
/// the tests spend most of their time there. Nobody who uses the package sets it.
let isOptimized = Context.environment["REFRAIN_OPTIMIZED"] == "1"

// The privacy manifest: App Store Connect asks for one beside code that reads the dates of files.
// Only Apple's build systems have a use for it, and it costs a bundle of resources.
#if os(macOS)
  let (manifests, notManifests): ([Resource], [String]) = ([.copy("PrivacyInfo.xcprivacy")], [])
#else
  let (manifests, notManifests): ([Resource], [String]) = ([], ["PrivacyInfo.xcprivacy"])
#endif

// Where an app brings this package in, nothing else comes along: what needs SwiftNIO or
// ArgumentParser comes with the traits "Server" and "Program". Where it is worked on itself, all of
// it is built.
let isDependency =
  Context.packageDirectory == "/" || Context.packageDirectory.contains("/checkouts/")

func nio(_ name: String) -> Target.Dependency {
  .product(name: name, package: "swift-nio", condition: .when(traits: ["Server"]))
}

let argumentParser = Target.Dependency.product(
  name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["Program"]))

let package = Package(
  name: "Refrain",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .visionOS(.v2)],
  products: [
    // Not "Refrain": beside the program `refrain`, a file system that ignores case takes their
    // files for the same.
    .library(name: "RefrainCore", targets: ["Refrain"]),
    .library(name: "RefrainAVFoundation", targets: ["RefrainAVFoundation"]),
    .library(name: "RefrainStreams", targets: ["RefrainStreams"]),
    .library(name: "RefrainPlayer", targets: ["RefrainPlayer"]),
    .library(name: "RefrainPlayerStreams", targets: ["RefrainPlayerStreams"]),
    .library(name: "RefrainProxy", targets: ["RefrainProxy"]),
    .library(name: "RefrainServer", targets: ["RefrainServer"]),
    .executable(name: "refrain", targets: ["RefrainCLI"]),
  ],
  traits: [
    .trait(name: "Server", description: "RefrainProxy and RefrainServer, over SwiftNIO."),
    .trait(
      name: "Program", description: "The program `refrain`, with ArgumentParser.",
      enabledTraits: ["Server"]),
    .default(enabledTraits: isDependency ? [] : ["Program"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
  ],
  targets: [
    // The core. It depends on no third-party package.
    .target(
      name: "Refrain",
      dependencies: [
        .target(name: "CCurl", condition: .when(platforms: [.linux])),
        .target(name: "CLinuxSystem", condition: .when(platforms: [.linux])),
      ],
      exclude: notManifests, resources: manifests, swiftSettings: settings),
    // The system's libcurl, the transport of Linux.
    .systemLibrary(
      name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    // System calls that Glibc's module map does not show: preadv2(2), SEEK_HOLE, epoll(7).
    .target(name: "CLinuxSystem"),
    // HLS and DASH: parse, plan, rewrite, download, offline.
    .target(name: "RefrainStreams", dependencies: ["Refrain"], swiftSettings: settings),
    // AVPlayer: the resource loader.
    .target(
      name: "RefrainAVFoundation",
      dependencies: [
        "Refrain", .target(name: "AVFoundationStandIn", condition: .when(platforms: [.linux])),
      ],
      swiftSettings: settings),
    // In AVFoundation's place on Linux, so that the resource loader is compiled and tested there.
    .target(
      name: "AVFoundationStandIn", path: "Tests/AVFoundationStandIn", swiftSettings: settings),
    // A scripted origin: the counterpart of the tests, and of `make play`.
    .target(
      name: "OriginServer",
      dependencies: [
        nio("NIOCore"),
        nio("NIOPosix"),
        nio("NIOHTTP1"),
      ],
      swiftSettings: settings),
    // What is used of libmpv, the sound of Linux, declared. The library is loaded when it plays.
    .target(name: "CMPV"),
    // The part of sd-bus in libsystemd, the bus of Linux desktops, that is used, declared. The
    // library is loaded where there is a bus.
    .target(name: "CSDBus"),
    .target(
      name: "RefrainPlayer",
      dependencies: [
        "Refrain", "RefrainAVFoundation",
        .target(name: "AVFoundationStandIn", condition: .when(platforms: [.linux])),
        .target(name: "CMPV", condition: .when(platforms: [.linux])),
        .target(name: "CSDBus", condition: .when(platforms: [.linux])),
      ],
      swiftSettings: settings),
    // The player's support for HLS and DASH.
    .target(
      name: "RefrainPlayerStreams", dependencies: ["RefrainPlayer", "RefrainStreams", "Refrain"],
      swiftSettings: settings),
    // Any HTTP player: the local proxy.
    .target(
      name: "RefrainProxy",
      dependencies: [
        "Refrain", "RefrainStreams",
        nio("NIOCore"),
        nio("NIOPosix"),
        nio("NIOFoundationCompat"),
      ],
      swiftSettings: settings),
    // The operator's side of a proxy: page, health, metrics, removal, limits for clients.
    .target(
      name: "RefrainServer", dependencies: ["RefrainProxy", "RefrainStreams", "Refrain"],
      // The page, which is part of the program.
      resources: [.embedInCode("Page/Files")], swiftSettings: settings),
    .executableTarget(
      name: "RefrainCLI",
      dependencies: [
        "Refrain", "RefrainStreams", "RefrainPlayer", "RefrainPlayerStreams", "RefrainProxy",
        "RefrainServer", "OriginServer",
        .target(name: "CLinuxSystem", condition: .when(platforms: [.linux])),
        argumentParser,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "RefrainTests",
      dependencies: [
        "Refrain", "OriginServer", "TestSupport", "refrain-crash-child",
        .target(name: "CCurl", condition: .when(platforms: [.linux])),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "RefrainStreamsTests",
      dependencies: ["RefrainStreams", "Refrain", "OriginServer", "TestSupport"],
      swiftSettings: settings),
    // What the tests kill, or run beside others.
    .executableTarget(
      name: "refrain-crash-child", dependencies: ["Refrain", "OriginServer", "TestSupport"],
      path: "Tests/CrashChild", swiftSettings: settings),
    .testTarget(
      name: "OriginServerTests",
      dependencies: ["OriginServer", "TestSupport"],
      swiftSettings: settings),
    // What several test targets need: programs of the system, and processes that end with a test;
    // connections and servers that say what they are told to.
    .target(
      name: "TestSupport",
      dependencies: [
        "OriginServer",
        nio("NIOCore"),
        nio("NIOPosix"),
      ],
      path: "Tests/TestSupport", swiftSettings: settings),
    .testTarget(
      name: "RefrainAVFoundationTests",
      dependencies: [
        "RefrainAVFoundation", "Refrain", "OriginServer", "TestSupport",
        .target(name: "AVFoundationStandIn", condition: .when(platforms: [.linux])),
      ],
      swiftSettings: settings),
    // Against servers as they are installed: nginx, rclone, Python's.
    .testTarget(
      name: "RealOriginTests", dependencies: ["Refrain", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "RefrainPlayerTests",
      dependencies: [
        "RefrainPlayer", "RefrainPlayerStreams", "Refrain", "RefrainStreams", "RefrainProxy",
        "RefrainAVFoundation", "OriginServer", "TestSupport",
        .target(name: "AVFoundationStandIn", condition: .when(platforms: [.linux])),
        .target(name: "CMPV", condition: .when(platforms: [.linux])),
        .target(name: "CSDBus", condition: .when(platforms: [.linux])),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "RefrainProxyTests",
      dependencies: [
        "RefrainProxy", "Refrain", "RefrainStreams", "OriginServer", "TestSupport",
        "ProxyTestSupport",
        nio("NIOCore"),
        nio("NIOPosix"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "RefrainServerTests",
      dependencies: [
        "RefrainServer", "RefrainProxy", "Refrain", "RefrainStreams", "OriginServer", "TestSupport",
        "ProxyTestSupport",
      ],
      swiftSettings: settings),
    // A proxy over a new cache and a new origin, for the tests of the proxy and of the server.
    .target(
      name: "ProxyTestSupport",
      dependencies: ["RefrainServer", "RefrainProxy", "Refrain", "OriginServer", "TestSupport"],
      path: "Tests/ProxyTestSupport", swiftSettings: settings),
    // Players and tools as they are installed, through the proxy: curl, ffmpeg, mpv, VLC, Chromium.
    .testTarget(
      name: "RealClientTests",
      dependencies: [
        "RefrainServer", "RefrainProxy", "Refrain", "RefrainStreams", "OriginServer", "TestSupport",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "RefrainCLITests",
      dependencies: [
        "RefrainCLI", "Refrain", "RefrainStreams", "RefrainPlayer", "RefrainPlayerStreams",
        "RefrainProxy", "RefrainServer", "OriginServer", "TestSupport", "refrain-window-app",
        argumentParser,
      ],
      exclude: ["Screens"], swiftSettings: settings),
    // An app with a window, in which tests look for video.
    .executableTarget(
      name: "refrain-window-app", dependencies: ["Refrain", "RefrainPlayer"],
      path: "Tests/WindowApp", swiftSettings: settings),
  ]
)

// The locks and atomics of every target of ours.
let inC = ["CLinuxSystem", "CMPV", "CSDBus"]
for target in package.targets where target.type != .system && !inC.contains(target.name) {
  target.dependencies.append("RefrainLocks")
}
package.targets.append(.target(name: "RefrainLocks", swiftSettings: settings))

// The flag counts as unsafe, and packages with such flags cannot be dependencies: never set there.
// Not the servers under the thread sanitizer: where SwiftNIO is inlined into them, it does not see
// that a continuation hands its result on, and takes that for a race.
let optimized =
  !isOptimized
  ? []
  : ["Refrain", "RefrainStreams", "RefrainPlayer", "RefrainPlayerStreams"]
    + (isThreadSanitized ? [] : ["RefrainProxy", "RefrainServer", "OriginServer", "TestSupport"])
for target in package.targets where optimized.contains(target.name) {
  target.swiftSettings?.append(.unsafeFlags(["-O"], .when(configuration: .debug)))
}
