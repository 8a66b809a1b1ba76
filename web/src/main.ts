import { mount } from "svelte";
import App from "./App.svelte";
import "./styles/tokens.css";
import "./styles/page.css";
import "./styles/more.css";

const target = document.getElementById("page");
if (target) mount(App, { target });
