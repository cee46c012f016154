// SPDX-License-Identifier: MIT
import Foundation
import TestSupport

/// One page in Chromium, with caches, storage and cookies of its own, driven by the DevTools
/// protocol.
final class DevTools: Sendable {
  private let browser: Browser
  private let context: String
  private let session: String

  /// Opens a page, and closes it after `body`.
  ///
  /// - Parameter isAlone: whether the page has a browser of its own; one has a single clipboard.
  static func with<Result: Sendable>(
    _ page: URL, isAlone: Bool = false, _ body: @Sendable (DevTools) async throws -> Result
  ) async throws -> Result {
    let browser = isAlone ? try Browser() : try await SharedBrowser.running()
    let result: Swift.Result<Result, any Error>
    do {
      let tools = try await DevTools(in: browser)
      do {
        _ = try await tools.call("Page.navigate", ["url": page.absoluteString])
        result = .success(try await body(tools))
      } catch {
        result = .failure(error)
      }
      _ = try? await browser.call(
        "Target.disposeBrowserContext", ["browserContextId": tools.context])
    } catch {
      result = .failure(error)
    }
    if isAlone { await browser.close() }
    return try result.get()
  }

  private init(in browser: Browser) async throws {
    self.browser = browser
    let made = try await browser.call("Target.createBrowserContext")
    context = try Self.member("browserContextId", of: made)
    let opened = try await browser.call(
      "Target.createTarget",
      [
        "url": "about:blank", "browserContextId": context, "newWindow": true, "width": 1280,
        "height": 800,
      ])
    let attached = try await browser.call(
      "Target.attachToTarget",
      ["targetId": try Self.member("targetId", of: opened), "flatten": true])
    session = try Self.member("sessionId", of: attached)
    _ = try await call("Page.enable")
    // Only one page can have the keyboard, and each behaves as if it had.
    _ = try await call("Emulation.setFocusEmulationEnabled", ["enabled": true])
  }

  /// Lets the page use the clipboard without asking.
  func permitClipboard() async throws {
    _ = try await browser.call(
      "Browser.grantPermissions",
      [
        "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"],
        "browserContextId": context,
      ])
  }

  /// Returns the value of an expression of JavaScript, also of a promise.
  func evaluate<Value: Decodable>(
    _ expression: String, as type: Value.Type = Value.self
  ) async throws -> Value {
    let reply = try await call(
      "Runtime.evaluate",
      ["expression": expression, "awaitPromise": true, "returnByValue": true])
    return try JSONDecoder().decode(Evaluated<Value>.self, from: reply).result.value
  }

  private struct Evaluated<Value: Decodable>: Decodable {
    struct Result: Decodable { var value: Value }
    var result: Result
  }

  /// Sends a command to the page, and returns its result as JSON.
  func call(_ method: String, _ parameters: [String: any Sendable] = [:]) async throws -> Data {
    try await browser.call(method, parameters, session: session)
  }

  private static func member(_ name: String, of json: Data) throws -> String {
    let object = try JSONSerialization.jsonObject(with: json) as? [String: Any]
    guard let value = object?[name] as? String else {
      throw ClientFailure(
        description: "\(name) is missing: \(String(decoding: json, as: UTF8.self))")
    }
    return value
  }
}
